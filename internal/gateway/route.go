package gateway

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/route"
)

// route finds the targets of the requested model, or of the default model, and those of the request's fallbacks.
//
// Stage 5: route.
func (c *call) route() error {
	c.table = c.server.router.Table()
	if c.Head.Model == "" {
		if c.Head.Model = c.table.DefaultModel(); c.Head.Model == "" {
			return llm.Invalid("model", `No default model is configured: send "model" as "<provider>/<model-name>".`)
		}
	}
	if err := checkModel(c.Head.Model); err != nil {
		return err
	}
	targets, err := c.table.Targets(c.one[:0], c.Head.Model, c.Dialect.Vendor)
	if err != nil {
		if denied := c.principal.MayUse(c.Head.Model); denied != nil {
			return denied // a key must not learn about models that it may not use
		}
		return err
	}
	c.targets = targets
	if err := c.mayUse(); err != nil {
		return err
	}
	return c.addFallbacks()
}

// maxModel bounds a model's name, in bytes.
const maxModel = 256

// checkModel refuses names that are unsafe in a header, a table, the ledger or a URL: "." and ".." change a URL's path
// even if they are escaped, and invisible characters, such as those that change the direction of text, disguise a name.
func checkModel(name string) error {
	odd := func(r rune) bool {
		// U+2800 is the blank Braille pattern.
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || r == '\u2800' ||
			unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	if len(name) > maxModel || strings.ContainsFunc(name, odd) {
		return llm.Invalid("model",
			fmt.Sprintf("The model's name is longer than %d bytes or contains white space, control characters or "+
				"invisible characters.", maxModel))
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return llm.Invalid("model", `The model's name has "." or ".." between its slashes.`)
		}
	}
	return nil
}

// mayUse checks that the key may use the model, by the requested name or by the names of all targets.
func (c *call) mayUse() error {
	denied := c.principal.MayUse(c.Head.Model)
	if denied == nil {
		return nil
	}
	for i := range c.targets {
		if c.principal.MayUse(c.targets[i].FullName()) != nil {
			return denied
		}
	}
	return nil
}

// spoken returns the operation in the wire format that the target uses; nil if the target does not have it.
func (c *call) spoken(t *route.Target) *dialect.Operation {
	return t.Provider.Speaking(c.Dialect, t.Model).For(c.Op.Op)
}

// translates reports whether a target uses another wire format than the client.
func (c *call) translates() bool {
	return c.Op.DecodeRequest != nil &&
		slices.ContainsFunc(c.targets, func(t route.Target) bool { return c.spoken(&t) != c.Op })
}

// offers reports whether the target can serve the requested operation.
func (c *call) offers(t *route.Target) bool {
	to := c.spoken(t)
	return to == c.Op || to != nil && to.EncodeRequest != nil && c.Op.DecodeRequest != nil
}

// narrow removes the targets that cannot serve the request. If none can, it keeps all, and the first one's error is
// returned later.
func (c *call) narrow() {
	if len(c.targets) < 2 {
		return
	}
	suits := func(t route.Target) bool { return c.offers(&t) }
	if c.Op.Op == llm.OpChat {
		needs := parse.Needs(c.Body)
		needs.MaxOutput = c.Head.MaxOutput
		suits = func(t route.Target) bool { return c.table.Suits(&t, &needs) }
	}
	if slices.ContainsFunc(c.targets, suits) {
		c.targets = slices.DeleteFunc(c.targets, func(t route.Target) bool { return !suits(t) })
	}
}
