package gateway

import (
	"net/http"

	"weir/internal/account"
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

// completeTags adds the tags that requests with a key have where they say nothing else, and refuses a
// request without one that the key requires.
func (o *ownFields) completeTags(k *account.Key) error {
	if k == nil {
		return nil
	}
	for _, t := range k.Tags.Defaults {
		o.attribution.Put(t)
	}
	for _, name := range k.Tags.Required {
		if _, ok := o.attribution.Tag(name); !ok {
			return llm.Invalidf(llm.TagsHeader, "This API key requires the tag %q on every request. Send it, for "+
				"example as %s: %s=value.", name, llm.TagsHeader, name)
		}
	}
	return nil
}
