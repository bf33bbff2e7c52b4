package dashboard

import (
	"html/template"
	"strings"
)

// Field is a labelled control of a form. The zero Kind is text.
type Field struct {
	Name, Label string
	ID          string // by default "f-" and the name
	Hint        string // what to enter, in a sentence
	Error       string // the mistake of the value
	Value       string
	Kind        string   // text, email, search, password, date, number, checkbox or radio
	Choices     []Choice // options of a list; for the Kinds checkbox and radio, of boxes
	Lines       int      // if above 0, a multi-line text with that many visible lines
	Complete    string   // value of HTML's autocomplete
	Mode        string   // value of HTML's inputmode, which selects the keyboard of a phone
	Example     string   // shown while it is empty
	Max         int      // maximum number of characters; 0 for no bound
	Required    bool
	Optional    bool // shows that it is optional
	First       bool // whether it has the focus when the page opens
	Short       bool // whether it is drawn for a few characters
}

// Choice is an option of a field.
type Choice struct {
	Value, Label, Note string
	Chosen             bool
}

// Ident returns the field's id.
func (f Field) Ident() string {
	if f.ID != "" {
		return f.ID
	}
	return "f-" + f.Name
}

// Described returns the ids of the elements that describe the field.
func (f Field) Described() string {
	var ids []string
	if f.Hint != "" {
		ids = append(ids, f.Ident()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.Ident()+"-error")
	}
	return strings.Join(ids, " ")
}

// Problem is a mistake of a form. Href links to its field, if there is one.
type Problem struct{ Text, Href string }

// Confirm is a button that opens a dialog with a form.
type Confirm struct {
	Ident  string // unique on the page
	Button string // text of the button that opens it
	Object string // object of the action, for screen readers
	Title  string
	Text   string  // consequences of the action
	Action string  // path of the form
	Verb   string  // text of the button that executes the action
	Keep   string  // text of the button that cancels; empty for "Keep it"
	Fields []Field // fields of the dialog
	Once   string  // name of the form, if it must be executed only once; empty for none
}

// Badge shows a state. Kind is good, warn, bad, off or empty.
type Badge struct{ Kind, Text string }

// Fact is a named value.
type Fact struct{ Label, Value string }

// Tile shows a key figure.
type Tile struct{ Label, Value, Note string }

// Level shows a share in percent, from 0 to 100. Kind is good, warn, bad or empty.
type Level struct {
	Percent    int
	Kind, Text string
}

// levelOf returns the level of a part of a whole.
func levelOf(part, whole int64, kind string) Level {
	return Level{Percent: percent(part, whole), Kind: kind, Text: percentText(part, whole)}
}

// Empty is shown instead of an empty list, with the next step. Without Href the visitor has no next step.
type Empty struct{ Icon, Title, Text, Action, Href string }

// Change shows a changed value. Was or Is is empty if there was or is no value.
type Change struct{ Name, Was, Is string }

// Pager links to the other pages of a list: by Newer and Older for lists by time, by Previous and Next for others;
// they are empty at the ends. Newest links to the start of a list that can only be read in one direction.
type Pager struct{ Newer, Older, Newest, Previous, Next, Shown string }

// Filters is a form that filters the page, by GET.
type Filters struct {
	Action, Label string
	Fields        []Field
	More          []Field // folded away, unless Open
	Open          bool
	Hidden        []Choice // values that are sent along; Label is the name
	Reset         string   // path without filters; empty if none is set
}

// tableHead is a head of a table. Href sorts by it; empty for none.
type tableHead struct {
	Label, Href string
	Number      bool
	Order       string // ascending or descending if the table is sorted by it; else empty
}

// Code is a text for copying.
type Code struct {
	Ident string // unique on the page
	Label string
	Text  string
}

// Chart is a picture drawn on the server, and the same data as a table. Picture is our own SVG, in which all foreign
// text is escaped.
type Chart struct {
	Title, Summary string
	Legend         []string // names of the series, in the order of their colours
	Picture        template.HTML
	Columns        []string
	Rows           [][]string
}
