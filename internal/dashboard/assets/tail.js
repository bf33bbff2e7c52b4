// Follows an account's requests live, above their list. Without this script the
// list is as it was when the page was made.
const box = document.querySelector("[data-tail]");
const table = document.querySelector("table.requests");
const most = 200; // rows; older ones are on the next page

if (box && table) {
  const button = box.querySelector("button");
  const state = box.querySelector("[role=status]");
  const body = table.tBodies[0];
  let source;

  const say = (following, text) => {
    button.textContent = following ? "Pause" : "Follow live";
    button.setAttribute("aria-pressed", String(following));
    box.classList.toggle("on", following);
    state.textContent = text;
  };
  const stop = (text) => {
    source.close();
    source = undefined;
    say(false, text);
  };
  const put = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const row = holder.content.querySelector("tr");
    if (!row) return;
    const had = document.getElementById(row.id);
    row.classList.add("fresh");
    if (had) {
      if (had.contains(document.activeElement)) return; // somebody is about to open it
      had.replaceWith(row);
    } else {
      body.prepend(row);
    }
    while (body.rows.length > most) body.lastElementChild.remove();
    table.hidden = false;
    document.querySelector("[data-none]")?.remove();
  };
  const follow = () => {
    source = new EventSource(box.dataset.tail);
    say(true, "Connecting…");
    source.addEventListener("open", () => say(true, "Following: new requests appear at the top."));
    source.addEventListener("request", (event) => put(event.data));
    source.addEventListener("end", () => stop("Paused after ten minutes."));
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) stop("Live updates were refused: you have no access, or too many people follow. Try again in a minute.");
      else if (source) say(true, "Connection lost. Reconnecting…");
    });
  };

  button.addEventListener("click", () => (source ? stop("Paused.") : follow()));
  addEventListener("pagehide", () => source && stop(""));
  box.hidden = false;
}
