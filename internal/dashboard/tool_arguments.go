package dashboard

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"weir/internal/rawjson"
	"weir/internal/tool"
)

// mostArguments bounds the fields of a tool's form. A tool with more, or with none that are known, has one field for
// all arguments.
const mostArguments = 40

// argument is a property of a tool's input schema.
type argument struct {
	name, kind, about string
	choices           []string // of an enumeration of texts
	required          bool
}

// arguments are the properties of a tool's input schema, in its order; empty if they do not fit a form.
type arguments []argument

const wholeArguments = "arguments"

func argumentsOf(t *tool.Tool) (all arguments) {
	schema := rawjson.Get(t.Definition, "inputSchema")
	var required []string
	for _, name := range rawjson.Elements(rawjson.Get(schema, "required")) {
		required = append(required, rawjson.Text(name))
	}
	for m := range rawjson.Members(rawjson.Get(schema, "properties")) {
		if len(all) == mostArguments {
			return nil
		}
		a := argument{
			name: m.Name(), kind: rawjson.Text(rawjson.Get(m.Value, "type")),
			about: rawjson.Text(rawjson.Get(m.Value, "description")), required: slices.Contains(required, m.Name()),
		}
		for _, v := range rawjson.Elements(rawjson.Get(m.Value, "enum")) {
			if rawjson.KindOf(v) != rawjson.String || len(a.choices) == 100 {
				a.choices, a.kind = nil, ""
				break
			}
			a.choices = append(a.choices, rawjson.Text(v))
		}
		all = append(all, a)
	}
	return all
}

// fields returns the fields of the form.
func (all arguments) fields(f *form) (fields []Field) {
	if len(all) == 0 {
		return []Field{f.field(Field{
			Name: wholeArguments, Label: "Arguments", Lines: 6, Value: "{}", Hint: "A JSON object.",
		})}
	}
	for i := range all {
		fields = append(fields, f.field(all[i].field(i)))
	}
	return fields
}

func (a *argument) field(i int) Field {
	const mostHint = 500
	x := Field{
		Name: argumentName(i), Label: a.name, Hint: strings.ToValidUTF8(a.about[:min(len(a.about), mostHint)], ""),
		Required: a.required, Optional: !a.required, Complete: "off",
	}
	switch {
	case len(a.choices) > 0:
		x.Choices = a.options(a.choices)
	case a.kind == "boolean":
		x.Choices = a.options([]string{"true", "false"})
	case a.kind == "integer":
		x.Mode = "numeric"
	case a.kind == "number":
		x.Mode = "decimal"
	case a.kind != "string":
		x.Lines = 3
		x.Hint = strings.TrimSpace(x.Hint + " A JSON value.")
	}
	return x
}

// options returns choices, with an empty one for an argument that may be absent.
func (a *argument) options(values []string) (all []Choice) {
	if !a.required {
		all = append(all, Choice{Label: "None"})
	}
	for _, v := range values {
		all = append(all, Choice{Value: v, Label: v})
	}
	return all
}

func argumentName(i int) string { return "a" + strconv.Itoa(i) }

// read returns the arguments of the form as a JSON object. It adds mistakes to the fields; the server checks the rest.
func (all arguments) read(f *form) json.RawMessage {
	if len(all) == 0 {
		text := strings.TrimSpace(f.values.Get(wholeArguments))
		if rawjson.Validate([]byte(text), maxArgumentDepth) != nil || rawjson.KindOf([]byte(text)) != rawjson.Object {
			f.mistake(wholeArguments, `The arguments are not a JSON object. Enter one such as {"city": "Graz"}.`)
		}
		return json.RawMessage(text)
	}
	out := []byte("{")
	for i := range all {
		a, name := &all[i], argumentName(i)
		text := strings.ReplaceAll(f.values.Get(name), "\r\n", "\n")
		switch {
		case text == "" && a.required && a.kind != "string":
			f.mistake(name, "The tool needs this argument. Enter a value.")
		case text == "" && !a.required:
		case a.kind == "string" || len(a.choices) > 0:
			out = rawjson.AppendString(rawjson.AppendName(out, a.name), text)
		case rawjson.Validate([]byte(text), maxArgumentDepth) != nil:
			f.mistake(name, "This is not a "+a.want()+". Enter one.")
		default:
			out = rawjson.AppendMember(out, a.name, []byte(strings.TrimSpace(text)))
		}
	}
	return append(out, '}')
}

// maxArgumentDepth bounds the nesting of a value in a form.
const maxArgumentDepth = 64

func (a *argument) want() string {
	switch a.kind {
	case "integer", "number":
		return "number"
	case "boolean":
		return "truth value"
	}
	return "JSON value"
}
