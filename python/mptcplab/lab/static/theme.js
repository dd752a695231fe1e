// Light and dark: as the system has it, until somebody chooses.

const KEY = "mptcplab-theme";

function system() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function theme() {
  return document.documentElement.dataset.theme ?? system();
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  return { ink: style.getPropertyValue("--ink").trim(), page: style.getPropertyValue("--page").trim() };
}

export function begin(button, changed) {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  const label = () => {
    button.textContent = theme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to the ${theme() === "dark" ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, document.documentElement.dataset.theme);
    label();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    changed();
  });
  label();
}
