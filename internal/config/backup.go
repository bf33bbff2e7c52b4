package config

import (
	"time"

	"weir/internal/llm"
)

// Backup configures the backups of a running installation with SQLite.
type Backup struct {
	// To is a directory, or s3://BUCKET/PREFIX; empty for no backups.
	To string `yaml:"to"`
	// Every is the interval of copying the journal there, from one second.
	Every time.Duration `yaml:"every"`
	// Full is the interval of database backups, from one minute.
	Full time.Duration `yaml:"full"`
	// Keep is the number of database backups to retain, at least 1.
	Keep int `yaml:"keep"`
	// S3 configures the access to a bucket.
	S3 S3 `yaml:"s3"`
}

// S3 is a service with the API of Amazon S3. Empty fields are taken from AWS's own environment variables.
type S3 struct {
	// Endpoint is an http or https address; empty for AWS.
	Endpoint        string     `yaml:"endpoint"`
	Region          string     `yaml:"region"`
	AccessKeyID     string     `yaml:"access_key_id"`
	SecretAccessKey llm.Secret `yaml:"secret_access_key"`
}
