// Package native is the service's own chat format at /v1/chat: messages with a
// role and a prompt in, one answer with its usage out. It has a server half
// alone; no provider speaks it.
package native

// Name is the word for the format.
const Name = "native"
