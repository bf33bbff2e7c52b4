package gateway

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

// attribute reads the request's end user and tags. An invalid header of Weir's own is refused. In the vendor's own
// members of the body, values beyond the bounds are ignored; attribute returns how many. If the caller has a limit or a
// budget for an ignored value, the request is refused instead. The header wins over the body, and both win over the
// tags of the API key.
func (o *ownFields) attribute(r *quote.Request, header http.Header, p *account.Principal) (leftOut int, err error) {
	k := p.Key()
	if lines := header[llm.TagsHeader]; len(lines) > 0 {
		if o.attribution.Tags, err = llm.ParseTags(lines); err != nil {
			return 0, err
		}
	}
	if k != nil {
		o.reserve(&k.Tags)
	}
	if most := llm.MaxTags - len(o.reserved); len(o.attribution.Tags) > most {
		return 0, llm.Invalidf(llm.TagsHeader,
			"This API key adds tags of its own. Send at most %d other tags.", most)
	}
	if !o.attributeUser(r) {
		leftOut++
		err = checkLeftOut(p, "")
	}
	if at := r.Head.TagsSpan; at.Present() {
		for m := range rawjson.Members(r.Body[at.Start:at.End]) {
			if !rawjson.Present(m.Value) {
				continue
			}
			if _, there := o.attribution.Tag(string(m.Key())); there { // without allocating the name
				continue
			}
			name := m.Name()
			value, ok := rawjson.AsString(m.Value)
			if ok && strings.TrimSpace(value) == "" { // an empty value means no tag, as in the header
				continue
			}
			if ok && o.put(llm.Tag{Name: name, Value: value}) {
				continue
			}
			leftOut++
			if err == nil && name != "" {
				err = checkLeftOut(p, name)
			}
		}
	}
	if k != nil && err == nil {
		err = o.completeTags(k)
	}
	return leftOut, err
}

// attributeUser stores the end user that the body names, and reports whether it is within the bounds.
func (o *ownFields) attributeUser(r *quote.Request) bool {
	at := r.Head.UserSpan
	if !at.Present() {
		return true
	}
	value := r.Body[at.Start:at.End]
	if r.Op.Multipart {
		return o.attribution.SetUser(string(value))
	}
	user, ok := rawjson.AsString(value)
	return ok && o.attribution.SetUser(user)
}

// checkLeftOut refuses a request whose end user (tag is empty) or value of a tag is beyond the bounds, if the caller
// limits each of these: a name that is too long must not bypass a limit.
func checkLeftOut(p *account.Principal, tag string) error {
	switch {
	case !p.LimitsEach(tag):
		return nil
	case tag == "":
		return llm.Invalid("user", "Each end user has a limit or a budget here. Send the end user as a string of "+
			"at most 512 characters, without NUL.")
	}
	return llm.Invalidf("metadata."+tag, "Each value of the tag %q has a limit or a budget here. Send the value as a "+
		"string of at most 512 characters, without NUL, among at most %d tags, including those of the API key.",
		tag, llm.MaxTags)
}

// reserve reserves room for the tags that the key adds or requires and that the request does not have yet.
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

// put adds a tag of the body. It reports whether the tag is within the bounds and fits beside the reserved tags.
func (o *ownFields) put(t llm.Tag) bool {
	own := slices.Index(o.reserved, t.Name)
	full := len(o.attribution.Tags)+len(o.reserved) >= llm.MaxTags
	if _, there := o.attribution.Tag(t.Name); !there && own < 0 && full {
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

// completeTags adds the key's default tags that the request does not set, and refuses a request without a tag that the
// key requires.
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
