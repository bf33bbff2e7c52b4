package dashboard

import (
	"html/template"
	"strings"
)

// Field is a control of a form, with its label. The zero Kind is text.
type Field struct {
	Name, Label string
	ID          string // empty for f- and the name
	Hint        string // what is asked for, in a sentence
	Error       string // what is wrong with the value
	Value       string
	Kind        string   // text, email, search, password, date, number, checkbox or radio
	Choices     []Choice // a list to choose from; with Kind checkbox or radio, boxes
	Lines       int      // more than 0: a text of several lines, so many of them shown
	Complete    string   // what a browser may fill in, as HTML's autocomplete has it
	Mode        string   // which keyboard a phone shows, as HTML's inputmode has it
	Example     string   // shown while there is nothing in it
	Max         int      // characters; 0 for no bound
	Required    bool
	Optional    bool // says so
	First       bool // has the focus when the page opens
	Short       bool // is drawn for a few characters
}

// Choice is one of those that a field has.
type Choice struct {
	Value, Label, Note string
	Chosen             bool
}

// Ident is the field's id.
func (f Field) Ident() string {
	if f.ID != "" {
		return f.ID
	}
	return "f-" + f.Name
}

// Described are the ids of what describes the field.
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

// Problem is something wrong with a form. Href leads to the field at fault, if
// there is one.
type Problem struct{ Text, Href string }

// Confirm is a button that opens a question, whose answer is a form.
type Confirm struct {
	Ident  string // unique on the page
	Button string // what opens it
	Object string // of what, for those who hear the button alone
	Title  string
	Text   string  // what will be, then
	Action string  // path that the form goes to
	Verb   string  // of the button that does it
	Keep   string  // of the button that does nothing; empty for "Keep it"
	Fields []Field // asked for in the question
	Once   string  // name of the form, where it is to be followed once; empty for none
}

// Badge is a state in a word. Kind is good, warn, bad, off or empty.
type Badge struct{ Kind, Text string }

// Fact is something that is known, by its name.
type Fact struct{ Label, Value string }

// Tile is a figure that matters.
type Tile struct{ Label, Value, Note string }

// Level is how much of a whole there is, in percent from 0 to 100. Kind is good,
// warn, bad or empty.
type Level struct {
	Percent    int
	Kind, Text string
}

// levelOf is how much of the whole a part is.
func levelOf(part, whole int64, kind string) Level {
	return Level{Percent: percent(part, whole), Kind: kind, Text: percentText(part, whole)}
}

// Empty is said where there is nothing yet, with the next step. Without Href
// there is none that the visitor could take.
type Empty struct{ Icon, Title, Text, Action, Href string }

// Change is a value that was changed. Was or Is is empty where there was none, or
// is none any more.
type Change struct{ Name, Was, Is string }

// Pager leads through a list: one by time by Newer and Older, another by Previous
// and Next, which are empty where there is no more. Newest leads to the beginning
// of a list that can be read one way alone.
type Pager struct{ Newer, Older, Newest, Previous, Next, Shown string }

// Filters select what a page shows, by GET.
type Filters struct {
	Action, Label string
	Fields        []Field
	Reset         string // where nothing is selected; empty for here
}

// Code is a text to copy.
type Code struct {
	Ident string // unique on the page
	Label string
	Text  string
}

// Chart is a picture drawn on the server, with the same as a table. Picture is
// SVG of ours: nothing in it comes from outside without being escaped.
type Chart struct {
	Title, Summary string
	Legend         []string // names of the series, in the order of their colours
	Picture        template.HTML
	Columns        []string
	Rows           [][]string
}
