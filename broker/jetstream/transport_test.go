package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-go/troupe/actor"
	"github.com/troupe-go/troupe/broker/jetstream"
	"github.com/troupe-go/troupe/internal/natstest"
)

// certificate writes a certificate for 127.0.0.1 and its key, and returns the files and a pool that trusts it.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(cert)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "EC PRIVATE KEY", keyDER), roots
}

// An encrypted server is reached with the right roots, and with wrong ones the connect says what is wrong.
func TestTLS(t *testing.T) {
	certFile, keyFile, roots := certificate(t)
	for _, kind := range kinds() {
		t.Run(kind.name, func(t *testing.T) {
			srv := kind.start(t, func(o *natstest.Options) {
				o.Config = fmt.Sprintf("tls { cert_file: %q, key_file: %q }\n", certFile, keyFile)
			})
			sys := newSystem(t)
			ref := spawn(t, sys, "js", jetstream.New(fast("tls://"+srv.Addr()), orders(actor.Ref{}), func(c *jetstream.Config) {
				c.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
			}))
			publish(t, ref, jetstream.Publish{Subject: "orders.a"})
			wrong := spawn(t, sys, "wrong", jetstream.New(fast("tls://"+srv.Addr()), orders(actor.Ref{})))
			eventually(t, "refused", func() bool { return status(t, wrong).LastError != nil })
			if text := status(t, wrong).LastError.Error(); !strings.Contains(text, "certificate") {
				t.Errorf("error %q, want one about the certificate", text)
			}
		})
	}
}

// NATS over WebSocket uses the same lent sockets: it works, and a reset is a loss like any other.
func TestWebSocketTransport(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	srv := natstest.Start(t, func(o *natstest.Options) {
		o.Config = fmt.Sprintf("websocket { listen: \"127.0.0.1:%d\", no_tls: true }\n", port)
	})
	s := newSink(nil)
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(fmt.Sprintf("ws://127.0.0.1:%d", port)), orders(spawn(t, sys, "sink", s.actor)), func(c *jetstream.Config) {
		c.Consumer.AckWait = time.Second // for what is on its way when the server stops
	}))
	publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "before"})
	srv.Stop()
	ref.Tell(jetstream.Publish{Subject: "orders.a", ID: "between"})
	srv.Restart()
	publish(t, ref, jetstream.Publish{Subject: "orders.a", ID: "after"})
	eventually(t, "all handled", func() bool { return len(s.ids()) == 3 })
}

// Of several servers one that is up is enough.
func TestOneServerOfTheListIsEnough(t *testing.T) {
	srv := natstest.Start(t)
	dead := natstest.Start(t)
	dead.Stop()
	sys := newSystem(t)
	ref := spawn(t, sys, "js", jetstream.New(fast(srv.URL()), orders(actor.Ref{}), func(c *jetstream.Config) {
		c.Servers = []string{dead.Addr(), srv.Addr()}
	}))
	publish(t, ref, jetstream.Publish{Subject: "orders.a"})
	if s := status(t, ref); s.LastError != nil {
		t.Errorf("first attempt failed: %v", s.LastError)
	}
}
