// Package managed defines the types of the managed configuration: providers, models, aliases, prices and limits that
// are stored in the database in versions, in addition to the configuration file.
package managed

import (
	"errors"
	"time"
)

// ErrChanged means that the managed configuration has changed meanwhile.
var ErrChanged = errors.New("the managed configuration was changed meanwhile: check the new version, and try again")

// ErrUnknown means that a section or object does not exist.
var ErrUnknown = errors.New("it does not exist")

// About is the context for the encryption of documents: see seal.Ring.
const About = "managed configuration"

// Version is one version of the managed configuration.
type Version struct {
	Seq     int64 // from 1
	At      time.Time
	By      string   // actor as a line of text
	Summary string   // the paths that it changed
	Sealed  string   // the encrypted document; empty in lists
	Changes []Change // from the previous version; nil if that is not stored, or was not requested
}

// Change is the change of one object. Before is nil for a new one, and After for a removed one.
type Change struct {
	Path          string // such as providers.house
	Section, Name string
	Before, After any // values of YAML, without secrets
}

// Ref identifies an object. The sections limits, cors and retention have one object each, with an empty name.
type Ref struct{ Section, Name string }

// Source is the origin of an object.
type Source string

// Sources. Objects of the file can only be changed there.
const (
	FromFile        Source = "file"
	FromManaged     Source = "managed"
	FromEnvironment Source = "environment"
	FromDefault     Source = "default" // not set anywhere
)

// Object is a part of the configuration that can be managed.
type Object struct {
	Section, Name string
	Path          string // such as providers.house
	Value         any    // of YAML, without secrets
	Source        Source
	File          string   // the file that has it; empty for none
	Line          int      // of its start in the file, from 1
	Variables     []string // environment variables that set parts of it, and take precedence
}

// State is the configuration in force.
type State struct {
	Version int64 // newest; 0 for none
	InForce int64 // on the node that answers
	Problem string
	Objects []Object
}

// Edit is a change. Its objects replace those with the same names.
type Edit struct {
	Text   []byte // a document in YAML or JSON; nil for none
	File   string // name of the file that has Text, for mistakes; empty for none
	Put    *Ref   // one more object; nil for none
	Value  []byte // of Put, in YAML or JSON
	Remove []Ref
	Prune  bool   // remove managed objects that are not in Text
	DryRun bool   // change nothing
	After  *int64 // the expected version in force; ErrChanged if it is another; nil for any
}

// Result is the result of a change, made or not.
type Result struct {
	Version int64 // in force from now on
	Changes []Change
}

// Trial describes a test of a provider.
type Trial struct {
	Name  string // of the provider
	Value []byte // the provider's configuration, in YAML or JSON; nil for the one in force
	Model string // the provider's name of a model that is sent small requests, which cost money; empty for none
}

// Finding is the result of a Trial.
type Finding struct {
	Provider, Dialect, BaseURL string
	Listed                     bool          // the provider returned its models
	Models                     []string      // as returned, sorted
	Latency                    time.Duration // of the list of models
	Problem                    string        // the problem, and the setting to change; empty for none
	BaseURLFound               string        // the base URL that has the list of models instead; empty for none
	Answers                    []Answer      // of Model
}

// Requests that a Trial sends to a model.
const (
	Streaming = "streaming"
	Tools     = "tools"
	Images    = "images"
)

// Answer is the result of a small request.
type Answer struct {
	What    string
	Works   bool
	Said    string        // the problem
	Latency time.Duration // to the end of the answer
	Cost    string        // in US dollars; empty if unknown
}
