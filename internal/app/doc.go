// Package app builds the gateway from its configuration and runs it. It is the
// only package that knows all the others.
package app
