// Light and dark: as the system has it, until somebody chooses.

const KEY = "mptcplab-theme";

function system() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function theme() {
  return document.documentElement.dataset.theme ?? system();
}

/** Of what is drawn on a canvas: as the browser computed them for the header. */
export function colours() {
  const style = getComputedStyle(document.querySelector(".bar"));
  return { ink: style.color, page: style.backgroundColor };
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
