package api

import (
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// perView holds the limits and the budget of each end user, or of each value of a tag.
type perView struct {
	Limits limitsView  `json:"limits"`
	Budget *budgetView `json:"budget"`
}

// perViews holds those of an account or a key.
type perViews struct {
	User *perView           `json:"per_user"`
	Tag  map[string]perView `json:"per_tag"` // by the name of the tag
}

func viewPer(list []account.Per) perViews {
	all := perViews{Tag: map[string]perView{}}
	for i := range list {
		p := &list[i]
		v := perView{limitsView(p.Limits), viewBudget(p.Budget)}
		if p.Tag == "" {
			all.User = &v
		} else {
			all.Tag[p.Tag] = v
		}
	}
	return all
}

// perFields reads per_user and per_tag. Absent members stay unchanged. Null removes the limits and budget of an entry,
// and null for per_tag those of all tags.
func perFields(dst *[]account.Per) []field {
	return []field{
		{"per_user", func(at string, v []byte) error { return readPer(dst, "", at, v) }},
		{"per_tag", func(at string, v []byte) error {
			if isNull(v) {
				*dst = slices.DeleteFunc(slices.Clone(*dst), func(p account.Per) bool { return p.Tag != "" })
				return nil
			}
			if rawjson.KindOf(v) != rawjson.Object {
				return wrongKind(at, "an object of limits and a budget for each name of a tag, or null")
			}
			for m := range rawjson.Members(v) {
				name := m.Name()
				if name == "" || !llm.IsText(name) {
					return llm.Invalidf(at, "A tag in %s has no name: give its name.", at)
				}
				if err := readPer(dst, name, at+"."+name, m.Value); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// mostPer bounds the tags that are read before the check.
const mostPer = 100

func readPer(dst *[]account.Per, tag, at string, v []byte) error {
	p := account.PerOf(*dst, tag)
	switch {
	case isNull(v):
		p = account.Per{Tag: tag}
	case rawjson.KindOf(v) != rawjson.Object:
		return wrongKind(at, "an object with limits and budget, or null")
	case len(*dst) >= mostPer:
		return llm.Invalidf(at, "Too many tags have limits. Leave some out.")
	}
	err := readFields(at, v, field{"limits", limitsField(&p.Limits)}, field{"budget", budgetField(&p.Budget)})
	*dst = account.WithPer(*dst, p)
	return err
}
