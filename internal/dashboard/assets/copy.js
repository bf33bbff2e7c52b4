// A button with data-copy="ID" copies the text of that element. Without this
// script such a button stays hidden, and the text can be selected by hand.
const said = document.getElementById("said");

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue; // plain http beyond this machine
  const label = button.querySelector("[data-label]");
  const usual = label.textContent;
  let timer;
  button.hidden = false;
  button.addEventListener("click", async () => {
    let word = "Copied";
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
    } catch {
      word = "Cannot copy: select the text yourself";
    }
    label.textContent = word;
    said.textContent = word;
    clearTimeout(timer);
    timer = setTimeout(() => { label.textContent = usual; said.textContent = ""; }, 2000);
  });
}
