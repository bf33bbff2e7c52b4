package config

import (
	"time"

	"weir/internal/llm"
)

// Backup is where an installation with SQLite is backed up to while it runs.
type Backup struct {
	// To is a directory, or s3://BUCKET/PREFIX; empty for no backups.
	To string `yaml:"to"`
	// Every is how often the journal is copied there, from one second.
	Every time.Duration `yaml:"every"`
	// Full is how often the database is backed up, from one minute.
	Full time.Duration `yaml:"full"`
	// Keep is how many backups of the database are kept, at least 1.
	Keep int `yaml:"keep"`
	// S3 is how a bucket is reached.
	S3 S3 `yaml:"s3"`
}

// S3 is a service with the API of Amazon S3. What is empty is taken from AWS's own variables.
type S3 struct {
	// Endpoint is an http or https address; empty for AWS.
	Endpoint        string     `yaml:"endpoint"`
	Region          string     `yaml:"region"`
	AccessKeyID     string     `yaml:"access_key_id"`
	SecretAccessKey llm.Secret `yaml:"secret_access_key"`
}
