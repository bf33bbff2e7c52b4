package rules

import "weir/internal/llm"

// aroundMessage is an upper bound of a message's size in a body without its text, in bytes.
const aroundMessage = 64

// Growth returns an upper bound of the bytes that Fit adds to a request's body. A token has at least one byte.
func Growth(before, after *llm.Request) int64 {
	if before == after {
		return 0
	}
	return max(0, sizeOf(after)-sizeOf(before))
}

// sizeOf returns the number of bytes of a request that Fit may change.
func sizeOf(r *llm.Request) (n int64) {
	for name := range toolNames(r) {
		n += int64(len(name))
	}
	for schema := range strictSchemas(r) {
		n += int64(len(*schema))
	}
	for i := range r.Messages {
		n += aroundMessage
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			n += int64(len(p.Text))
			switch {
			case p.Call != nil:
				n += int64(len(p.Call.ID) + len(p.Call.Arguments))
			case p.Result != nil:
				n += int64(len(p.Result.CallID))
			}
		}
	}
	return n
}
