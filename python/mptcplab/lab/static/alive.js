// Whether the server is still there: asked every two seconds while the page is seen, and told at once.

const EVERY_MS = 2000;

/** gone(text) when it does not answer any more, back() when it does again. */
export function watch({ gone, back }) {
  const root = document.documentElement;
  async function ask() {
    let text = null;
    try {
      const answer = await fetch("/api/alive");
      if (answer.status === 401 || answer.status === 403)
        text = "The server was started again with another token: open the address that it printed.";
    } catch {
      text = "The server has ended. The numbers below are the last ones it gave; the page goes on when it is back.";
    }
    if (text !== null) {
      root.dataset.gone = "yes";
      gone(text);
    } else if (root.dataset.gone) {
      delete root.dataset.gone;
      back();
    }
  }
  setInterval(() => !document.hidden && ask(), EVERY_MS);
  document.addEventListener("visibilitychange", () => !document.hidden && ask());
}
