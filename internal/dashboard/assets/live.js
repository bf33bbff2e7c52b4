// Renews the parts of a page that change by themselves, every few seconds. Without
// this script they are as they were when the page was made.
const every = 3000; // milliseconds
const most = 200; // renewals, then the page is left as it is

const renew = async (left) => {
  const busy = document.hidden || document.querySelector(":popover-open");
  if (!busy) {
    const answer = await fetch(location.href).catch(() => undefined);
    if (answer && !answer.ok) return;
    const fresh = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh && fresh.getElementById(part.id);
      const focused = part.contains(document.activeElement) || document.querySelector(":popover-open");
      if (next && !focused) part.replaceWith(next);
    }
  }
  if (left > 0) setTimeout(renew, every, left - 1);
};
setTimeout(renew, every, most);
