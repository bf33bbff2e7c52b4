package check_test

import "testing"

// apacheMain is the file that includes weir.conf: like a Debian package's, except for its logs, and without the modules
// that the file does not name.
const apacheMain = `
ServerRoot "DIR"
ServerName localhost
PidFile "DIR/apache.pid"
DefaultRuntimeDir "DIR"
Mutex file:DIR
ErrorLog /dev/stderr
Listen 127.0.0.1:PORT
LoadModule mpm_event_module     "/usr/lib/apache2/modules/mod_mpm_event.so"
LoadModule authz_core_module    "/usr/lib/apache2/modules/mod_authz_core.so"
LoadModule reqtimeout_module    "/usr/lib/apache2/modules/mod_reqtimeout.so"
LoadModule filter_module        "/usr/lib/apache2/modules/mod_filter.so"
LoadModule mime_module          "/usr/lib/apache2/modules/mod_mime.so"
LoadModule deflate_module       "/usr/lib/apache2/modules/mod_deflate.so"
LoadModule socache_shmcb_module "/usr/lib/apache2/modules/mod_socache_shmcb.so"
LoadModule ssl_module           "/usr/lib/apache2/modules/mod_ssl.so"
LoadModule http2_module         "/usr/lib/apache2/modules/mod_http2.so"
LoadModule env_module           "/usr/lib/apache2/modules/mod_env.so"
LoadModule headers_module       "/usr/lib/apache2/modules/mod_headers.so"
LoadModule proxy_module         "/usr/lib/apache2/modules/mod_proxy.so"
LoadModule proxy_http_module    "/usr/lib/apache2/modules/mod_proxy_http.so"
TypesConfig /etc/mime.types
SetOutputFilter DEFLATE
SSLSessionCache none
IncludeOptional "DIR/weir.conf"
`

// TestChatsThroughApache runs apache2 -t, and then chats through Apache with the file.
func TestChatsThroughApache(t *testing.T) {
	t.Parallel()
	apache := standalone{
		program: "apache2", file: "apache/weir.conf", main: apacheMain,
		edits: []string{
			"<VirtualHost *:443>", "<VirtualHost *:PORT>",
			"/etc/ssl/weir/fullchain.pem", "CERT", "/etc/ssl/weir/privkey.pem", "KEY",
		},
		args: []string{"-f", "CONF"}, check: "-t", stay: "-X",
	}
	p := apache.start(t)
	p.holdProxy(t, "HTTP/1.1", "HTTP/2")
}
