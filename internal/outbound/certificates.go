package outbound

import (
	"crypto/x509"
	"fmt"
	"os"
)

// Certificates are the authorities of the system and those of a PEM file; nil, which
// stands for the system's alone, where no file is named.
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
		pool = x509.NewCertPool() // a system without certificates has the file's
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("outbound.ca_file: %s holds no PEM certificate", file)
	}
	return pool, nil
}
