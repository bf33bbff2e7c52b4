package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/route"
)

// extensions are Weir's own fields, which a body of any wire format may have. They are not sent to providers.
var extensions = rawjson.Names{"fallbacks", "rescue"}

// maxFallbacks bounds the models that a request may name in addition to its own.
const maxFallbacks = 8

// ownFields holds the values of these fields and the request's attribution.
type ownFields struct {
	fallbacks []string // models that the request names in addition to its own
	vendors   bool     // the client's vendor has a field named fallbacks, too
	theirs    []byte   // the value of the vendor's field; nil if it is absent
	noRescue  bool     // the client does not want another target to continue an interrupted answer
	// attribution holds the request's end user and tags.
	attribution llm.Attribution
	reserved    []string // names of tags that room is reserved for
}

// scan reads the head of the body and removes Weir's own fields.
//
// Stage 4: scan.
func (in *intake) scan() error {
	if err := in.scanBody(); err != nil {
		return err
	}
	leftOut, err := in.own.attribute(&in.Request, in.r.Header, in.principal)
	if leftOut > 0 {
		in.server.metrics.LeftOut(leftOut)
	}
	if err != nil || !in.Head.Stream {
		return err
	}
	return in.held.EnterStream()
}

func (in *intake) scanBody() error {
	turn, err := in.held.Turn(len(in.Body))
	if err != nil {
		return err
	}
	defer turn.End()
	if err := scanHead(in); err != nil || in.Op.Multipart || in.Head.Usual || !mayExtend(in.Body) {
		return err
	}
	in.own.vendors = in.Dialect != nil && in.Dialect.Fallbacks
	cut, err := in.own.cut(in.Body)
	if err != nil || cut == nil {
		return err
	}
	if err := in.client.Left(len(in.Body)); err != nil {
		return err
	}
	in.Body = cut
	return scanHead(in)
}

// scanHead reads the head of the body. It is not inlined, because the head would take its size in the caller's frame
// twice, and a stream keeps the stack that its largest frames need.
//
//go:noinline
func scanHead(in *intake) (err error) {
	in.Head, err = in.Op.Scan(in.Body, in.r)
	return err
}

// mayExtend reports quickly whether the body may have one of the fields. It also finds names that are written with
// escapes.
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

// cut reads Weir's own fields and returns the body without them; nil if it has none.
func (o *ownFields) cut(body []byte) (cut []byte, err error) {
	var seen rawjson.Seen
	rest := []byte{'{'}
	found := false
	for m := range rawjson.Members(body) {
		i, err := extensions.Find(m, &seen)
		if e, ok := errors.AsType[*rawjson.NameError](err); ok {
			return nil, llm.Invalid(e.Name, "The "+e.Error()+".")
		}
		if i >= 0 {
			found = true
			if o.vendors && m.Is("fallbacks") && isVendors(m.Value) {
				o.theirs = slices.Clone(m.Value) // the body's buffer is reused
			} else if err := o.take(m); err != nil {
				return nil, err
			}
			continue
		}
		rest = rawjson.AppendMember(rest, m.Name(), m.Value)
	}
	if !found {
		return nil, nil
	}
	return append(rest, '}'), nil
}

func (o *ownFields) take(m rawjson.Member) error {
	switch {
	case !rawjson.Present(m.Value):
		return nil
	case m.Is("rescue"):
		word, _ := rawjson.AsString(m.Value)
		if o.noRescue = word == "off"; !o.noRescue && word != "on" {
			return llm.Invalid("rescue", `"rescue" must be "on" or "off".`)
		}
		return nil
	}
	return o.takeFallbacks(m.Value)
}

// isVendors reports whether a value of fallbacks is the vendor's own, a string or a list of objects, and not a list of
// model names.
func isVendors(v []byte) bool {
	for _, e := range rawjson.Elements(v) {
		return rawjson.KindOf(e) == rawjson.Object
	}
	return rawjson.KindOf(v) == rawjson.String
}

// withFallbacks adds the vendor's own fallbacks to a body in the client's format. By these the vendor may use a model
// that Weir has not checked. They are dropped, and listed in X-Weir-Dropped, if the key may not use the model or a
// budget applies.
func (a *attempt) withFallbacks(body []byte) []byte {
	theirs := a.in.own.theirs
	switch {
	case theirs == nil:
		return body
	case a.Speaks != a.Dialect || !fallsBack(a.in, a.Target.Provider.Name()):
		a.dropped = append(a.dropped, "fallbacks")
		return body
	}
	return rawjson.Splice(nil, body, rawjson.Set(body, "fallbacks", theirs))
}

// fallsBack reports whether a provider may get the vendor's own fallbacks of the request.
func fallsBack(in *intake, provider string) bool {
	theirs := in.own.theirs
	return theirs != nil && len(in.principal.Budgets(&in.own.attribution)) == 0 &&
		mayFallBack(in.principal, provider, theirs)
}

// mayFallBack reports whether the key may use all models of a provider that the vendor's fallbacks name.
func mayFallBack(p *account.Principal, provider string, theirs []byte) bool {
	if p.UsesAll() {
		return true
	}
	for _, e := range rawjson.Elements(theirs) {
		if !p.Uses(provider + "/" + rawjson.Text(rawjson.Get(e, "model"))) {
			return false
		}
	}
	return rawjson.KindOf(theirs) == rawjson.Array // a string does not show its models
}

func (o *ownFields) takeFallbacks(list []byte) error {
	wrong := llm.Invalid("fallbacks",
		fmt.Sprintf(`"fallbacks" must be a list of at most %d names of models, such as ["openai/gpt-5-mini"].`,
			maxFallbacks))
	if rawjson.KindOf(list) != rawjson.Array {
		return wrong
	}
	for _, v := range rawjson.Elements(list) {
		name, ok := rawjson.AsString(v)
		if !ok || name == "" || len(o.fallbacks) == maxFallbacks {
			return wrong
		}
		if err := checkModel(name); err != nil {
			return wrong
		}
		o.fallbacks = append(o.fallbacks, name)
	}
	return nil
}

// addFallbacks adds the models that the request names in addition to its own. The key must be allowed to use each.
func (in *intake) addFallbacks() error {
	for i, name := range in.own.fallbacks {
		denied := in.principal.MayUse(name)
		targets, err := in.table.Targets(nil, name, in.Dialect.Vendor)
		if denied == nil && err == nil {
			in.targets = addTargets(in.targets, targets)
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

// addTargets adds the targets that are not in the list yet, so that a model named twice is tried once.
func addTargets(list, more []route.Target) []route.Target {
	for _, t := range more {
		same := func(other route.Target) bool { return other.Provider == t.Provider && other.Model == t.Model }
		if !slices.ContainsFunc(list, same) {
			list = append(list, t)
		}
	}
	return list
}
