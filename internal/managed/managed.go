// Package managed is what the parts of the gateway say to each other of the managed configuration: providers, models,
// aliases, prices and limits that are kept in the database in versions, beside the configuration file.
package managed

import (
	"context"
	"errors"
	"time"

	"weir/internal/audit"
)

// ErrChanged says that somebody else has changed the managed configuration meanwhile.
var ErrChanged = errors.New("the managed configuration was changed meanwhile: look at it, and try again")

// ErrUnknown says that there is no such section or object.
var ErrUnknown = errors.New("it is not there")

// About is what a document is sealed for: see seal.Ring.
const About = "managed configuration"

// Configuration is what operators see and change of the configuration. Errors of what they get wrong are *llm.Error.
type Configuration interface {
	// State is what is in force.
	State(ctx context.Context) (State, error)
	// Edit makes a change, which every node has in force within a second.
	Edit(ctx context.Context, by audit.Actor, e Edit) (Result, error)
	// Versions are at most so many versions with their changes, the newest first: those before the one given, or all
	// where it is 0.
	Versions(ctx context.Context, before int64, most int) ([]Version, error)
	// Restore puts an earlier version in force again, as a new one. After is that of Edit.
	Restore(ctx context.Context, by audit.Actor, seq int64, after *int64) (Result, error)
	// Test asks a provider.
	Test(ctx context.Context, by audit.Actor, t Trial) (Finding, error)
}

// Version is one version of the managed configuration.
type Version struct {
	Seq     int64 // from 1
	At      time.Time
	By      string   // actor as a line of text
	Summary string   // the paths that it changed
	Sealed  string   // the document; empty in lists
	Changes []Change // against the version before; nil where that is not kept, or was not asked for
}

// Change is what becomes of one object. Before is nil for one that is new, and After for one that goes.
type Change struct {
	Path          string // such as providers.house
	Section, Name string
	Before, After any // values of YAML, without secrets
}

// Ref names an object. The sections limits, cors and retention have one object each, whose name is empty.
type Ref struct{ Section, Name string }

// Source is where an object is from.
type Source string

// The sources. What the file has is changed there alone.
const (
	FromFile        Source = "file"
	FromManaged     Source = "managed"
	FromEnvironment Source = "environment"
	FromDefault     Source = "default" // nobody says anything of it
)

// Object is a part of the configuration that can be managed.
type Object struct {
	Section, Name string
	Path          string // such as providers.house
	Value         any    // of YAML, without secrets
	Source        Source
	File          string   // that it is from; empty for none
	Line          int      // where it begins there, from 1
	Variables     []string // of the environment, which say something of it and count before anything else
}

// State is what is in force.
type State struct {
	Version int64 // newest; 0 for none
	InForce int64 // on the node that answers
	Problem string
	Objects []Object
}

// Edit is a change. Objects take the places of those of their names.
type Edit struct {
	Text   []byte // a document in YAML or JSON; nil for none
	Put    *Ref   // one object more; nil for none
	Value  []byte // of Put, in YAML or JSON
	Remove []Ref
	Prune  bool   // remove what is managed and not in Text
	DryRun bool   // change nothing
	After  *int64 // the version that is in force; ErrChanged where it is another; nil for whatever is
}

// Result is what a change did, or would do.
type Result struct {
	Version int64 // in force from now on
	Changes []Change
}

// Trial asks a provider what it is.
type Trial struct {
	Name  string // of the provider
	Value []byte // the provider as it is to be, in YAML or JSON; nil for as it is in force
	Model string // its name of a model that is asked for answers of a few tokens, which cost; empty for none
}

// Finding is what came of a Trial.
type Finding struct {
	Provider, Dialect, BaseURL string
	Listed                     bool          // the provider has told its models
	Models                     []string      // as it told, sorted
	Latency                    time.Duration // of the list of models
	Problem                    string        // what is wrong, and what to set; empty for nothing
	BaseURLFound               string        // where the list of models was instead; empty for nowhere
	Answers                    []Answer      // of Model
}

// What a Trial asks of a model.
const (
	Streaming = "streaming"
	Tools     = "tools"
	Images    = "images"
)

// Answer is what came of a request for a few tokens.
type Answer struct {
	What    string
	Works   bool
	Said    string        // what was wrong
	Latency time.Duration // to the end of the answer
	Cost    string        // in US dollars; empty for unknown
}
