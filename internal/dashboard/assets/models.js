// The list of models follows what is typed or chosen. Without this script the form is sent with Show.
const form = document.querySelector("form.filters");
let timer = 0;
let asked = null; // AbortController of the list under way

async function find() {
  asked?.abort();
  asked = new AbortController();
  const url = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  try {
    const answer = await fetch(url, { signal: asked.signal });
    if (!answer.ok) return; // Show tells what is wrong
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.getElementById("found").replaceChildren(...page.getElementById("found").childNodes);
    document.dispatchEvent(new Event("replaced")); // copy.js
    history.replaceState(null, "", url);
  } catch {
    // another list is asked for, or the gateway cannot be reached: Show tells
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(find, 150);
});
