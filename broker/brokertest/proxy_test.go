package brokertest_test

import (
	"io"
	"net"
	"testing"

	"github.com/troupe-go/troupe/broker/brokertest"
)

// TestNewProxy: bytes go through, and after a reset they do not.
func TestNewProxy(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c) // ends with the proxy's reset
		_ = c.Close()
	}()
	p := brokertest.NewProxy(t, ln.Addr().String())
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 1)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil || buf[0] != 'x' {
		t.Fatalf("%q, %v", buf, err)
	}
	p.Reset()
	if _, err := c.Read(buf); err == nil {
		t.Error("the connection stands after a reset")
	}
}
