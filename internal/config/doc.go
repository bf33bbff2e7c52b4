// Package config reads the configuration. Flags override the environment, which overrides the file, which overrides the
// defaults.
//
// The file is YAML with the schema that the yaml tags of Config define. Unknown and repeated keys are errors, and so
// are ambiguous constructs: anchors, aliases, tags, and more than one document. All errors are reported together, each
// with file, line and column.
package config
