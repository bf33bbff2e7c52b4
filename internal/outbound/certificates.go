package outbound

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Certificates returns the system's authorities and those of a PEM file. Without a file it returns nil, which means
// only the system's.
func Certificates(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("outbound.ca_file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without certificates
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("outbound.ca_file: %s contains no PEM certificate", file)
	}
	return pool, nil
}
