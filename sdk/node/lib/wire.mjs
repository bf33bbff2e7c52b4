/** Has a client fetch through x.fetch; the result reads the JSON of its last whole reply, of which an SDK may hand on a part. */
export function listen(x) {
  let last;
  x.fetch = async (...request) => {
    const response = await fetch(...request);
    last = response.clone();
    return response;
  };
  return () => last.json();
}
