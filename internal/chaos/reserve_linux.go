package chaos

import (
	"net"
	"os"
	"strconv"
	"syscall"
)

// reserve binds a socket to a free port of 127.0.0.1 and never listens on it. While it is there the kernel gives the
// port to nobody who asks for any free one, so the proxy finds it again after Refuse, whatever else runs on the machine.
// Listening beside it works because both set SO_REUSEADDR, which package net does by itself.
func reserve() (addr string, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) } // a bound socket has nothing that could fail to be written
	port, err := bindFree(fd)
	if err != nil {
		release()
		return "", nil, err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, nil
}

func bindFree(fd int) (port int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return bound.(*syscall.SockaddrInet4).Port, nil
}
