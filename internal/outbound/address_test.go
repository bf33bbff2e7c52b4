package outbound_test

import (
	"net/netip"
	"strings"
	"testing"

	"weir/internal/outbound"
)

func TestReachOfAddresses(t *testing.T) {
	t.Parallel()
	const public, local, never = "public", "local", "never"
	for addr, kind := range map[string]string{
		"1.1.1.1": public, "8.8.8.8": public, "2606:4700::1111": public, "64:ff9b::808:808": public, "2002:808:808::1": public, "::ffff:8.8.8.8": public,
		"172.15.255.255": public, "172.32.0.1": public, "100.63.255.255": public, "100.128.0.1": public, "11.0.0.1": public,

		"127.0.0.1": local, "127.255.255.254": local, "0.0.0.0": local, "0.1.2.3": local, "10.1.2.3": local, "172.16.0.1": local, "172.31.255.255": local,
		"192.168.1.1": local, "100.64.0.1": local, "169.254.1.1": local, "192.0.0.1": local, "192.0.2.1": local, "198.18.0.1": local, "198.51.100.7": local,
		"203.0.113.7": local, "224.0.0.1": local, "239.1.2.3": local, "240.0.0.1": local, "255.255.255.255": local, "192.88.99.1": local,
		"::": local, "::1": local, "::127.0.0.1": local, "::ffff:127.0.0.1": local, "::ffff:10.0.0.1": local, "fc00::1": local, "fd12::1": local,
		"fe80::1": local, "fe80::1%eth0": local, "fec0::1": local, "ff02::1": local, "100::1": local, "2001::1": local, "2001:db8::1": local,
		"64:ff9b::7f00:1": local, "64:ff9b::a00:1": local, "64:ff9b:1::7f00:1": local, "2002:7f00:1::1": local, "2002:a00:1::": local, "5f00::1": local,

		"169.254.169.254": never, "::ffff:169.254.169.254": never, "64:ff9b::a9fe:a9fe": never, "2002:a9fe:a9fe::": never, "169.254.170.2": never,
		"100.100.100.200": never, "fd00:ec2::254": never, "fd20:ce::254": never, "168.63.129.16": never,
	} {
		a := netip.MustParseAddr(addr)
		for reach, may := range map[outbound.Reach]bool{
			outbound.Public: kind == public, outbound.Local: kind == local, outbound.Anywhere: kind != never,
		} {
			err := reach.Check(a)
			if (err == nil) != may {
				t.Errorf("%s, which is %s, within reach %d: got %v", addr, kind, reach, err)
			}
			if err != nil && !outbound.Refused(err) {
				t.Errorf("%s: %v is not known as a refusal", addr, err)
			}
			dialled := netip.AddrPortFrom(a, 443).String()
			if err := reach.Control("tcp", dialled, nil); (err == nil) != may {
				t.Errorf("dial %s, which is %s, within reach %d: got %v", dialled, kind, reach, err)
			}
		}
	}
	if err := outbound.Anywhere.Control("tcp", "localhost:80", nil); err == nil {
		t.Error("a name was dialled: got no error, want one, for addresses alone are judged")
	}
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	for host, may := range map[string]bool{
		"example.com": true, "1.1.1.1": true, "localhost.example.com": true,
		"localhost": false, "127.0.0.1": false, "::1": false, "169.254.169.254": false,
	} {
		if err := outbound.Public.CheckHost(host); (err == nil) != may {
			t.Errorf("%s: got %v, want allowed %t", host, err, may)
		}
	}
	if err := outbound.Anywhere.CheckHost("127.0.0.1"); err != nil {
		t.Errorf("anywhere: %v", err)
	}
}

func TestCertificatesNeedPEM(t *testing.T) {
	t.Parallel()
	if pool, err := outbound.Certificates(""); pool != nil || err != nil {
		t.Errorf("no file: got %v, %v; want the system's alone", pool, err)
	}
	for file, want := range map[string]string{"missing.pem": "no such file", "address.go": "contains no PEM certificate"} {
		if _, err := outbound.Certificates(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "outbound.ca_file") {
			t.Errorf("%s: got %v, want one that contains %q", file, err, want)
		}
	}
}
