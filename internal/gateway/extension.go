package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// extensions are fields of the service's own that a body of any wire format may
// have. No provider gets to see them.
var extensions = rawjson.Names{"fallbacks", "rescue"}

// maxFallbacks bounds the models that a request may name beside its own.
const maxFallbacks = 8

// scanBody reads the head of the body, and takes the service's own fields out
// of it.
func (c *call) scanBody() (err error) {
	if c.head, err = c.op.Scan(c.body, c.r); err != nil || c.op.Multipart || !mayExtend(c.body) {
		return err
	}
	cut, err := c.takeExtensions()
	if err != nil || cut == nil {
		return err
	}
	if err := c.left(); err != nil {
		return err
	}
	c.body = cut
	c.head, err = c.op.Scan(c.body, c.r)
	return err
}

// mayExtend is quick to say no. A name may be spelt with escapes.
func mayExtend(body []byte) bool {
	for _, name := range extensions {
		if bytes.Contains(body, []byte(`"`+name+`"`)) {
			return true
		}
	}
	if !bytes.Contains(body, []byte(`\u00`)) {
		return false
	}
	for m := range rawjson.Members(body) {
		if extensions.Has(m.Name()) {
			return true
		}
	}
	return false
}

// takeExtensions reads the fields, and gives the body without them; nil where
// there are none.
func (c *call) takeExtensions() (cut []byte, err error) {
	var seen rawjson.Seen
	rest := []byte{'{'}
	found := false
	for m := range rawjson.Members(c.body) {
		i, err := extensions.Find(m, &seen)
		if e, ok := errors.AsType[*rawjson.NameError](err); ok {
			return nil, llm.Invalid(e.Name, "A field name is at fault: "+e.Error()+".")
		}
		if i >= 0 {
			found = true
			if err := c.takeExtension(m); err != nil {
				return nil, err
			}
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(rawjson.AppendString(rest, m.Name()), ':'), m.Value...)
	}
	if !found {
		return nil, nil
	}
	return append(rest, '}'), nil
}

func (c *call) takeExtension(m rawjson.Member) error {
	switch {
	case !rawjson.Present(m.Value):
		return nil
	case m.Is("rescue"):
		word, _ := rawjson.AsString(m.Value)
		if c.noRescue = word == "off"; !c.noRescue && word != "on" {
			return llm.Invalid("rescue", `"rescue" must be "on" or "off".`)
		}
		return nil
	}
	return c.takeFallbacks(m.Value)
}

func (c *call) takeFallbacks(list []byte) error {
	wrong := llm.Invalid("fallbacks",
		fmt.Sprintf(`"fallbacks" must be a list of at most %d names of models, such as ["openai/gpt-5-mini"].`,
			maxFallbacks))
	if rawjson.KindOf(list) != rawjson.Array {
		return wrong
	}
	for _, v := range rawjson.Elements(list) {
		name, ok := rawjson.AsString(v)
		if !ok || name == "" || len(c.fallbacks) == maxFallbacks {
			return wrong
		}
		if err := checkModel(name); err != nil {
			return wrong
		}
		c.fallbacks = append(c.fallbacks, name)
	}
	return nil
}

// addFallbacks adds the models that the request names beside its own. The key
// must be allowed each.
func (c *call) addFallbacks() error {
	for i, name := range c.fallbacks {
		denied := c.principal.MayUse(name)
		targets, err := c.table.Targets(nil, name, c.dialect.Vendor)
		if denied == nil && err == nil {
			c.addTargets(targets)
			continue
		}
		if denied == nil {
			denied = err
		}
		e := *llm.AsError(denied)
		e.Param = fmt.Sprintf("fallbacks[%d]", i)
		return &e
	}
	return nil
}

// addTargets adds those that are not there yet: whoever names a model twice
// does not have it asked twice.
func (c *call) addTargets(more []route.Target) {
	for _, t := range more {
		same := func(other route.Target) bool { return other.Provider == t.Provider && other.Model == t.Model }
		if !slices.ContainsFunc(c.targets, same) {
			c.targets = append(c.targets, t)
		}
	}
}
