// Package managed is what the parts of the gateway say to each other of the managed configuration: providers, models,
// aliases, prices and limits that are kept in the database in versions, beside the configuration file.
package managed

import (
	"errors"
	"time"
)

// ErrChanged says that somebody else has changed the managed configuration meanwhile.
var ErrChanged = errors.New("the managed configuration was changed meanwhile: look at it, and try again")

// About is what a document is sealed for: see seal.Ring.
const About = "managed configuration"

// Version is one version of the managed configuration.
type Version struct {
	Seq     int64 // from 1
	At      time.Time
	By      string // actor as a line of text
	Summary string // the paths that it changed
	Sealed  string // the document; empty in lists
}

// Change is what becomes of one object. Before is nil for one that is new, and After for one that goes.
type Change struct {
	Path          string // such as providers.house
	Section, Name string
	Before, After any // values of YAML, without secrets
}
