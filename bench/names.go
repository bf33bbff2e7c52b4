package main

// Names of the subjects.
const (
	onDirect      = "direct"
	onNginx       = "nginx"
	onRival       = "rival"
	onChat        = "weir /v1/chat"
	onCompletions = "weir /v1/chat/completions"
	onStrict      = "weir …/completions, strict"
)

// Keys of the figures, on which readers of the report depend.
const (
	figIdle      = "idle_mb"
	figFull      = "loaded_mb"
	figPerStream = "kb_per_stream"
	figExisting  = "existing_ms"
	figEmpty     = "empty_ms"
	figPerCore   = "requests_per_core_second"
	figCPU       = "cpu_us_per_request"
	figRate      = "requests_per_second"
	figRatio     = "ratio_to_nginx"
	figOfBase    = "of_base"
	figP50       = "p50_us"
	figP99       = "p99_us"
	figOverP50   = "p50_over_nginx_us"
	figOverP99   = "p99_over_nginx_us"
	figPieceCPU  = "cpu_us_per_piece"
	figPieces    = "pieces_per_second"
	figFirst     = "first_piece_p50_us"
	figPieceLate = "piece_p50_us"
	figMeter     = "us_per_call"
	figShare     = "percent_of_cpu"
	figWrite     = "write_p50_us"
	figSync      = "write_fdatasync_p50_us"
)
