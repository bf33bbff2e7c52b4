package gateway

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// attribute finds out for whom and for what a request is: from a header of ours, which is refused where it
// is at fault, and from the vendor's own members of the body, of which what is beyond the bounds is left out.
// Where both name a tag, the header wins.
func (o *ownFields) attribute(header http.Header, body []byte, h *llm.Head) (leftOut int, err error) {
	a := &o.attribution
	if lines := header[llm.TagsHeader]; len(lines) > 0 {
		if a.Tags, err = llm.ParseTags(lines); err != nil {
			return 0, err
		}
	}
	if at := h.UserSpan; at.Present() {
		user, ok := rawjson.AsString(body[at.Start:at.End])
		if !ok || !a.SetUser(user) {
			leftOut++
		}
	}
	if at := h.TagsSpan; at.Present() {
		for m := range rawjson.Members(body[at.Start:at.End]) {
			value, ok := rawjson.AsString(m.Value)
			if !ok || !a.Put(llm.Tag{Name: m.Name(), Value: value}) {
				leftOut++
			}
		}
	}
	return leftOut, nil
}
