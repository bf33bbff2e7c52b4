// Package app builds the gateway from its configuration and runs it. No other package imports all the others.
package app
