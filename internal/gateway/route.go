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

// route finds the targets of the model that was asked for, or of the default, and of the
// models that the request names beside it.
//
// Stage 5: route.
func (c *call) route() error {
	c.table = c.server.router.Table()
	if c.Head.Model == "" {
		if c.Head.Model = c.table.DefaultModel(); c.Head.Model == "" {
			return llm.Invalid("model", `No default model is configured: name one as "<provider>/<model-name>".`)
		}
	}
	if err := checkModel(c.Head.Model); err != nil {
		return err
	}
	targets, err := c.table.Targets(c.one[:0], c.Head.Model, c.Dialect.Vendor)
	if err != nil {
		if denied := c.principal.MayUse(c.Head.Model); denied != nil {
			return denied // what a key may not use, it does not learn about
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

// checkModel takes names that can stand in a header, a table, the ledger and an
// address: "." and ".." lead elsewhere there, even where they are escaped, and invisible
// characters, such as those that turn the direction of a text, make it read as another.
func checkModel(name string) error {
	odd := func(r rune) bool {
		// a blank of Braille
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || r == '\u2800' ||
			unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
	}
	if len(name) > maxModel || strings.ContainsFunc(name, odd) {
		return llm.Invalid("model",
			fmt.Sprintf("The model's name is longer than %d bytes or has white space, control characters or "+
				"invisible ones in it.", maxModel))
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return llm.Invalid("model", `The model's name has "." or ".." between its slashes.`)
		}
	}
	return nil
}

// mayUse asks whether the key may use the model, by the name it was asked for
// or by the name of each target.
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

// spoken is what is asked for as the target speaks of it; nil where it cannot
// be asked.
func (c *call) spoken(t *route.Target) *dialect.Operation {
	return t.Provider.Speaking(c.Dialect, t.Model).For(c.Op.Op)
}

// translates reports whether some target is asked in another wire format than the client's.
func (c *call) translates() bool {
	return c.Op.DecodeRequest != nil &&
		slices.ContainsFunc(c.targets, func(t route.Target) bool { return c.spoken(&t) != c.Op })
}

// offers reports whether the target can be asked for what is asked for.
func (c *call) offers(t *route.Target) bool {
	to := c.spoken(t)
	return to == c.Op || to != nil && to.EncodeRequest != nil && c.Op.DecodeRequest != nil
}

// narrow leaves out the targets that cannot take the request, unless none can:
// then it is the first one's to say so.
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
