package gateway

import (
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// attribute finds out for whom and for what the request is: from a header of ours, which is refused where it is
// at fault, and from the vendor's own members of the body, of which what is beyond the bounds is left out.
// Where both name a tag, the header wins; the caller's key has tags for names that neither has. It returns how
// many were left out. One that the caller has limits or a budget for is refused instead.
func (o *ownFields) attribute(c *call) (leftOut int, err error) {
	k := c.principal.Key()
	if lines := c.r.Header[llm.TagsHeader]; len(lines) > 0 {
		if o.attribution.Tags, err = llm.ParseTags(lines); err != nil {
			return 0, err
		}
	}
	if k != nil {
		o.reserve(&k.Tags)
	}
	if most := llm.MaxTags - len(o.reserved); len(o.attribution.Tags) > most {
		return 0, llm.Invalidf(llm.TagsHeader, "This API key has tags of its own, for which there must be room. Send at most %d others.", most)
	}
	if !o.attributeUser(c) {
		leftOut++
		err = checkLeftOut(c.principal, "")
	}
	if at := c.Head.TagsSpan; at.Present() {
		for m := range rawjson.Members(c.Body[at.Start:at.End]) {
			if !rawjson.Present(m.Value) {
				continue
			}
			if _, there := o.attribution.Tag(string(m.Key())); there { // whose name need not be allocated
				continue
			}
			name := m.Name()
			value, ok := rawjson.AsString(m.Value)
			if ok && strings.TrimSpace(value) == "" { // is none, as in the header
				continue
			}
			if ok && o.put(llm.Tag{Name: name, Value: value}) {
				continue
			}
			leftOut++
			if err == nil && name != "" {
				err = checkLeftOut(c.principal, name)
			}
		}
	}
	if k != nil && err == nil {
		err = o.completeTags(k)
	}
	return leftOut, err
}

// attributeUser notes the end user that the body names, and reports whether it is within the bounds.
func (o *ownFields) attributeUser(c *call) bool {
	at := c.Head.UserSpan
	if !at.Present() {
		return true
	}
	value := c.Body[at.Start:at.End]
	if c.Op.Multipart {
		return o.attribution.SetUser(string(value))
	}
	user, ok := rawjson.AsString(value)
	return ok && o.attribution.SetUser(user)
}

// checkLeftOut refuses a request whose end user (with an empty tag) or whose value of a tag is beyond the bounds, where
// each of these is limited: a name that is too long is no way past a limit.
func checkLeftOut(p *account.Principal, tag string) error {
	switch {
	case !p.LimitsEach(tag):
		return nil
	case tag == "":
		return llm.Invalid("user", "Each end user has a limit or a budget here. Name the end user by a string of at most "+
			"512 characters, without NUL.")
	}
	return llm.Invalidf("metadata."+tag, "Each value of the tag %q has a limit or a budget here. Send the value as a string "+
		"of at most 512 characters, without NUL, among at most %d tags, those of the API key included.", tag, llm.MaxTags)
}

// reserve keeps room for the tags that the key has or requires, and the request does not have yet.
func (o *ownFields) reserve(k *account.KeyTags) {
	keep := func(name string) {
		if _, ok := o.attribution.Tag(name); !ok && !slices.Contains(o.reserved, name) {
			o.reserved = append(o.reserved, name)
		}
	}
	for _, t := range k.Defaults {
		keep(t.Name)
	}
	for _, name := range k.Required {
		keep(name)
	}
}

// put adds a tag of the body, and reports whether it is within the bounds, in the room that is not reserved.
func (o *ownFields) put(t llm.Tag) bool {
	own := slices.Index(o.reserved, t.Name)
	if _, there := o.attribution.Tag(t.Name); !there && own < 0 && len(o.attribution.Tags)+len(o.reserved) >= llm.MaxTags {
		return false
	}
	if !o.attribution.Put(t) {
		return false
	}
	if own >= 0 {
		o.reserved = slices.Delete(o.reserved, own, own+1)
	}
	return true
}

// completeTags adds the tags that requests with a key have where they say nothing else, and refuses a
// request without one that the key requires.
func (o *ownFields) completeTags(k *account.Key) error {
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
