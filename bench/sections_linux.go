package main

import "fmt"

func coldSection(empty float64, existing []float64) *section {
	s := &section{
		Name: "cold_start", Title: "Cold start to the first 200 of a chat call",
		Columns: []column{{figExisting, "existing data, ms", 1}, {figEmpty, "empty data, ms", 1}},
	}
	s.row("weir").put(figExisting, existing...).put(figEmpty, empty)
	return s
}

func heldSection(streams int) *section {
	return &section{
		Name: "held_streams", Title: fmt.Sprintf("Memory: at rest, 2 s after the start, and with %d slow streams, one piece a second", streams),
		Columns: []column{{figIdle, "idle MB", 1}, {figFull, "streaming MB", 1}, {figPerStream, "KB a stream", 1}},
	}
}

func memorySection() *section {
	return &section{Name: "memory", Title: "Memory after all the load", Columns: []column{{figFull, "MB", 1}}}
}

func throughputSection(t *turns) *section {
	s := &section{
		Name: "throughput", Title: "Throughput: whole replies, 64 connections",
		Columns: []column{
			{figPerCore, "requests/core-s", 0},
			{figCPU, "µs CPU/request", 1},
			{figRatio, "of nginx", 2},
			{figRate, "requests/s", 0},
			{figP50, "p50 µs", 0},
			{figP99, "p99 µs", 0},
		},
	}
	perCore := func(r *loadResult) float64 { return float64(r.Answers) / r.CPU }
	for i, subject := range t.subjects {
		row := s.row(subject.name)
		if subject.child != nil {
			row.put(figPerCore, t.values(i, perCore)...)
			row.put(figCPU, t.values(i, func(r *loadResult) float64 { return 1e6 / perCore(r) })...)
			row.put(figRatio, t.beside(i, perCore, func(own, nginx float64) float64 { return own / nginx })...)
		}
		row.put(figRate, t.values(i, func(r *loadResult) float64 { return float64(r.Requests) / r.Seconds })...)
		row.put(figP50, t.values(i, func(r *loadResult) float64 { return r.Latency.P50 })...)
		row.put(figP99, t.values(i, func(r *loadResult) float64 { return r.Latency.P99 })...)
	}
	return s
}

func paceSection(t *turns) *section {
	s := &section{
		Name: "pace", Title: "Latency: 200 requests/s, one connection",
		Columns: []column{
			{figP50, "p50 µs", 0},
			{figP99, "p99 µs", 0},
			{figOverP50, "p50 over nginx", 0},
			{figOverP99, "p99 over nginx", 0},
		},
	}
	minus := func(own, nginx float64) float64 { return own - nginx }
	for i, subject := range t.subjects {
		p50 := func(r *loadResult) float64 { return r.Latency.P50 }
		p99 := func(r *loadResult) float64 { return r.Latency.P99 }
		s.row(subject.name).
			put(figP50, t.values(i, p50)...).put(figP99, t.values(i, p99)...).
			put(figOverP50, t.beside(i, p50, minus)...).put(figOverP99, t.beside(i, p99, minus)...)
	}
	return s
}

func streamSection(name, title string, t *turns) *section {
	s := &section{
		Name: name, Title: title,
		Columns: []column{
			{figPieceCPU, "µs CPU/piece", 1},
			{figPieces, "pieces/s", 0},
			{figFirst, "first piece p50 µs", 0},
			{figPieceLate, "piece p50 µs", 0},
		},
	}
	for i, subject := range t.subjects {
		row := s.row(subject.name)
		if subject.child != nil {
			row.put(figPieceCPU, t.values(i, func(r *loadResult) float64 { return r.CPU * 1e6 / float64(r.Pieces) })...)
		}
		row.put(figPieces, t.values(i, func(r *loadResult) float64 { return float64(r.Pieces) / r.Seconds })...)
		row.put(figFirst, t.values(i, func(r *loadResult) float64 { return r.First.P50 })...)
		row.put(figPieceLate, t.values(i, func(r *loadResult) float64 { return r.Piece.P50 })...)
	}
	return s
}
