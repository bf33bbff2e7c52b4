// Asks the browser for a passkey, and sends what it answers with the form. Without this script, or in a
// browser that has no passkeys, the form stays hidden.
const form = document.querySelector("form[data-passkey]");
const said = form.querySelector("[data-said]");
const { answer } = form.elements;

form.hidden = !window.PublicKeyCredential?.parseRequestOptionsFromJSON;

async function ask() {
  const options = JSON.parse(form.dataset.options);
  const publicKey = form.dataset.passkey === "create"
    ? PublicKeyCredential.parseCreationOptionsFromJSON(options)
    : PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials[form.dataset.passkey]({ publicKey });
  return JSON.stringify(credential.toJSON());
}

form.addEventListener("submit", async (event) => {
  if (answer.value) return;
  event.preventDefault();
  said.textContent = "";
  try {
    answer.value = await ask();
    form.submit();
  } catch (error) {
    said.textContent = `The browser did not return a passkey: ${error.message} Try again.`;
  }
});
