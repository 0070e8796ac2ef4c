package chaos

import (
	"io"
	"net"
	"testing"
)

// BenchmarkPass measures what the proxy adds to a connection without faults: echo of a frame, one at a time.
func BenchmarkPass(b *testing.B) {
	for name, size := range map[string]int{"64B": 64, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				if conn, err := ln.Accept(); err == nil {
					io.Copy(conn, conn)
					conn.Close()
				}
			}()
			p, err := New(ln.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			conn, err := net.Dial("tcp4", p.Addr())
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := conn.Write(buf); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, buf); err != nil {
					b.Fatal(err)
				}
			}
			conn.Close()
			p.Close()
			ln.Close()
			<-done
		})
	}
}
