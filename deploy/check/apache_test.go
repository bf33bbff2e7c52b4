package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/internal/must"
)

// apacheMain is the file that includes weir.conf: as a Debian package has it, but for what it writes, and without what
// the file does not name.
const apacheMain = `
ServerRoot "%[1]s"
ServerName localhost
PidFile "%[1]s/apache.pid"
DefaultRuntimeDir "%[1]s"
Mutex file:%[1]s
ErrorLog /dev/stderr
Listen 127.0.0.1:%[2]s
LoadModule mpm_event_module     "%[3]s/mod_mpm_event.so"
LoadModule authz_core_module    "%[3]s/mod_authz_core.so"
LoadModule reqtimeout_module    "%[3]s/mod_reqtimeout.so"
LoadModule filter_module        "%[3]s/mod_filter.so"
LoadModule mime_module          "%[3]s/mod_mime.so"
LoadModule deflate_module       "%[3]s/mod_deflate.so"
LoadModule socache_shmcb_module "%[3]s/mod_socache_shmcb.so"
LoadModule ssl_module           "%[3]s/mod_ssl.so"
LoadModule http2_module         "%[3]s/mod_http2.so"
LoadModule env_module           "%[3]s/mod_env.so"
LoadModule headers_module       "%[3]s/mod_headers.so"
LoadModule proxy_module         "%[3]s/mod_proxy.so"
LoadModule proxy_http_module    "%[3]s/mod_proxy_http.so"
TypesConfig /etc/mime.types
SetOutputFilter DEFLATE
SSLSessionCache none
IncludeOptional "%[1]s/weir.conf"
`

// apacheModules is where Debian has them.
const apacheModules = "/usr/lib/apache2/modules"

// TestApache is apache2 -t, and then chats through Apache as the file sets it up.
func TestApache(t *testing.T) {
	t.Parallel()
	apache := program(t, "apache2")
	text := read(t, "apache/weir.conf")
	p := start(t, text, func(gateway, port string) {
		cert, key := certificate(t)
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "weir.conf"), []byte(replaced(t, text,
			"127.0.0.1:8080", gateway, "<VirtualHost *:443>", "<VirtualHost *:"+port+">",
			"/etc/ssl/weir/fullchain.pem", cert, "/etc/ssl/weir/privkey.pem", key)), 0o600))
		main := filepath.Join(dir, "apache2.conf")
		must.Do(t, os.WriteFile(main, fmt.Appendf(nil, apacheMain, dir, port, apacheModules), 0o600))
		if out, err := run(t, apache, "-t", "-f", main); err != nil {
			t.Fatalf("apache2 -t: %v: %s", err, out)
		}
		serve(t, port, apache, "-X", "-f", main)
	})
	p.holdProxy(t, "HTTP/1.1", "HTTP/2")
}
