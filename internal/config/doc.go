// Package config reads the configuration: flags beat environment beats file
// beats default.
//
// The file is YAML, held to the schema that the yaml tags of Config are.
// Unknown and doubled keys are mistakes, and so is everything that could be
// meant in two ways: anchors, aliases, tags, more than one document. All
// mistakes are reported together, each with file, line and column.
package config
