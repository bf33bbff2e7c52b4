// Package realtime serves sessions of OpenAI's Realtime API. It relays the events of a client and a provider, and
// meters each response as an attempt of its own in the ledger.
//
// The gateway begins every response itself: it opens the response's attempt, with the amount reserved in budgets, and
// only then sends response.create. For turn detection by the provider it sets create_response to false at the provider,
// and sends response.create after each detected turn. So nothing begins at a provider without an open attempt.
//
// It also serves sessions of Google's Live API, by the description of a wire format (dialect.Live). There the provider
// begins answers by itself, so an attempt is open before anything is sent that the model may answer.
package realtime
