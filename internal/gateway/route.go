package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/route"
)

// route finds the targets of the requested model, or of the default model, and those of the request's fallbacks.
//
// Stage 5: route.
func (in *intake) route() error {
	in.table = in.server.router.Table()
	if in.Head.Model == "" {
		if in.Head.Model = in.table.DefaultModel(); in.Head.Model == "" {
			return llm.Invalid("model", `No default model is configured: send "model" as "<provider>/<model-name>".`)
		}
	}
	if err := checkModel(in.Head.Model); err != nil {
		in.Head.Model = "" // it must not be shown
		return err
	}
	targets, err := in.table.Targets(in.one[:0], in.Head.Model, in.Dialect.Vendor)
	if err != nil {
		if denied := in.principal.MayUse(in.Head.Model); denied != nil {
			return denied // a key must not learn about models that it may not use
		}
		return in.suggest(err)
	}
	in.targets = targets
	if err := in.mayUse(); err != nil {
		return err
	}
	return in.addFallbacks()
}

// suggest adds a name that the key may use to the error about an unknown one, if one is similar.
func (in *intake) suggest(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	if near, ok := in.table.Similar(in.Head.Model, in.principal.Uses); ok {
		e.Message += fmt.Sprintf(" Did you mean %q?", near)
	}
	return e
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
func (in *intake) mayUse() error {
	denied := in.principal.MayUse(in.Head.Model)
	if denied == nil {
		return nil
	}
	for i := range in.targets {
		if in.principal.MayUse(in.targets[i].FullName()) != nil {
			return denied
		}
	}
	return nil
}

// spoken returns the operation in the wire format that the target uses; nil if the target does not have it.
func spoken(r *quote.Request, t *route.Target) *dialect.Operation {
	return t.Provider.Speaking(r.Dialect, t.Model).For(r.Op.Op)
}

// translates reports whether a target uses another wire format than the client.
func (in *intake) translates() bool {
	return in.Op.DecodeRequest != nil &&
		slices.ContainsFunc(in.targets, func(t route.Target) bool { return spoken(&in.Request, &t) != in.Op })
}

// offers reports whether the target can serve the requested operation.
func offers(r *quote.Request, t *route.Target) bool {
	to := spoken(r, t)
	return to == r.Op || to != nil && to.EncodeRequest != nil && r.Op.DecodeRequest != nil
}

// narrow removes the targets that cannot serve the request. If none can, it keeps all, and the first one's error is
// returned later.
func (in *intake) narrow() {
	if len(in.targets) < 2 {
		return
	}
	suits := func(t route.Target) bool { return offers(&in.Request, &t) }
	if in.Op.Op == llm.OpChat {
		needs := parse.Needs(in.Body)
		needs.MaxOutput = in.Head.MaxOutput
		suits = func(t route.Target) bool { return in.table.Suits(&t, &needs) }
	}
	if slices.ContainsFunc(in.targets, suits) {
		in.targets = slices.DeleteFunc(in.targets, func(t route.Target) bool { return !suits(t) })
	}
}
