package app

import (
	"log/slog"
)

const (
	usualConnections = 16 << 10 // connections of clients, each with 20 KB while it is idle
	// ownFiles, and one in ownShare of all files, up to mostOwnFiles, are reserved for the database, the journal,
	// webhooks and others.
	ownFiles, ownShare, mostOwnFiles = 64, 32, 512
	// besideShare and besideFiles add connections to providers for answers that are read after their requests have
	// ended.
	besideShare, besideFiles = 8, 64
)

// fileShares divides the files that the process may open, so that no use exhausts another's. A request needs one file
// for its client and one for its provider.
type fileShares struct {
	clients   int // connections of clients
	providers int // connections to providers, including idle ones
	places    int // requests in flight
}

// shareFiles divides the files. It admits at most concurrency requests in flight, with a third of the files at most.
func shareFiles(files, concurrency int) fileShares {
	rest := files - min(ownFiles+files/ownShare, mostOwnFiles, files/2)
	places := max(1, min(rest/3, concurrency))
	providers := min(rest*3/8, places+places/besideShare+besideFiles)
	clients := min(rest-providers, max(usualConnections, 2*concurrency))
	return fileShares{clients: clients, providers: rest - clients, places: places}
}

// openShares divides the open files of the process.
func openShares(log *slog.Logger, concurrency int) fileShares {
	files := openFiles()
	shares := shareFiles(files, concurrency)
	shares.warn(log, files, concurrency)
	return shares
}

// warn logs a warning if fewer requests can be in flight than configured.
func (s fileShares) warn(log *slog.Logger, files, concurrency int) {
	if s.places < concurrency {
		log.Warn("max_concurrency cannot be reached: the process may open too few files (ulimit -n, LimitNOFILE)",
			"files", files, "in_flight", s.places, "max_concurrency", concurrency, "needed", 3*concurrency+mostOwnFiles)
	}
}
