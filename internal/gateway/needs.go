package gateway

import (
	"slices"

	"weir/internal/llm"
	"weir/internal/route"
)

// narrow leaves out the targets that cannot take the request, unless none can:
// then it is the first one's to say so.
func (c *call) narrow() error {
	if len(c.targets) < 2 {
		return nil
	}
	if c.door.Op != llm.OpChat {
		c.narrowTo(func(t route.Target) bool { return c.offers(&t) })
		return nil
	}
	tree, err := c.tree()
	if err != nil {
		return err
	}
	needs := needsOf(tree)
	c.narrowTo(func(t route.Target) bool { return c.table.Suits(&t, &needs) })
	return nil
}

// narrowTo leaves out the targets that do not suit, unless none does.
func (c *call) narrowTo(suits func(route.Target) bool) {
	if slices.ContainsFunc(c.targets, suits) {
		c.targets = slices.DeleteFunc(c.targets, func(t route.Target) bool { return !suits(t) })
	}
}

// needsOf is what a request asks of a model.
func needsOf(r *llm.Request) (n route.Needs) {
	n.Tools = len(r.Tools) > 0
	n.Structured = r.Format != nil && r.Format.Kind == llm.FormatSchema
	if r.MaxOutput != nil {
		n.MaxOutput = *r.MaxOutput
	}
	for i := range r.Messages {
		addNeeds(&n, r.Messages[i].Parts)
	}
	return n
}

func addNeeds(n *route.Needs, parts []llm.Part) {
	for i := range parts {
		p := &parts[i]
		n.Text += int64(len(p.Text))
		switch p.Kind {
		case llm.PartImage:
			n.Images = true
		case llm.PartDocument:
			n.Documents = true
		case llm.PartAudio:
			n.Audio = true
		case llm.PartToolResult:
			if p.Result != nil {
				addNeeds(n, p.Result.Parts)
			}
		}
	}
}

// offers reports whether the target can be asked for what is asked for.
func (c *call) offers(t *route.Target) bool {
	to := c.spoken(t)
	return to == c.door || to != nil && to.EncodeRequest != nil && c.door.DecodeRequest != nil
}
