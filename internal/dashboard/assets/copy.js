// A button with data-copy="ID" copies the text of that element. Without this
// script such a button stays hidden, and the text can be selected by hand.
const said = document.getElementById("said");
const timers = new WeakMap();

// show shows the buttons, also those that come later: see models.js.
function show() {
  if (!navigator.clipboard) return; // plain http beyond this machine
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
}

document.addEventListener("replaced", show);
show();

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (!button) return;
  const label = button.querySelector("[data-label]");
  button.dataset.usual ??= label.textContent;
  let word = "Copied";
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
  } catch {
    word = "Cannot copy: select the text yourself";
  }
  label.textContent = word;
  said.textContent = word;
  clearTimeout(timers.get(button));
  timers.set(button, setTimeout(() => { label.textContent = button.dataset.usual; said.textContent = ""; }, 2000));
});
