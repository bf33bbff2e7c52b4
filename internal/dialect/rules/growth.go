package rules

import "weir/internal/llm"

// aroundMessage is how many bytes a message has in a body beside its text, at most those that a vendor puts around it.
const aroundMessage = 64

// Growth is how many bytes longer a request may be in a body once it was fitted. A token has a byte or more.
func Growth(before, after *llm.Request) int64 {
	if before == after {
		return 0
	}
	return max(0, sizeOf(after)-sizeOf(before))
}

// sizeOf is how many bytes of a request Fit may change.
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
				n += int64(len(p.Call.ID))
			case p.Result != nil:
				n += int64(len(p.Result.CallID))
			}
		}
	}
	return n
}
