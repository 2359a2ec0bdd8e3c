//! A connection's bytes, in the clear or by TLS, without a call that blocks.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// The first byte of what a client of TLS sends: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

#[derive(Debug)]
pub(crate) enum Channel {
    Clear(TcpStream),
    /// Boxed, since it is many times as large.
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Channel {
    /// A connection that does not block.
    pub(crate) fn new(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Result<Self, rustls::Error> {
        Ok(match tls {
            None => Self::Clear(stream),
            Some(tls) => {
                let connection = ServerConnection::new(Arc::clone(tls))?;
                Self::Tls(Box::new(StreamOwned::new(connection, stream)))
            }
        })
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            Self::Clear(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Whether bytes have to be sent before more can be read, as in the handshake.
    pub(crate) fn must_write(&self) -> bool {
        matches!(self, Self::Tls(stream) if stream.conn.wants_write())
    }

    /// Whether a client that has not said anything yet speaks HTTP in the clear to a server of TLS. It can be answered in the clear then.
    pub(crate) fn clears_up(&mut self) -> bool {
        let Self::Tls(stream) = self else { return false };
        let mut first = [0];
        let is_clear = stream.conn.is_handshaking()
            && matches!(stream.sock.peek(&mut first), Ok(1) if first[0] != HANDSHAKE && first[0].is_ascii_alphabetic());
        if !is_clear {
            return false;
        }
        match stream.sock.try_clone() {
            Ok(socket) => {
                *self = Self::Clear(socket);
                true
            }
            Err(_) => false,
        }
    }

    /// Says that nothing more comes, once everything has been sent.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Self::Tls(stream) = self {
            stream.flush()?;
            stream.conn.send_close_notify();
            // The connection closes next, sent or not.
            let _ = stream.flush();
        }
        self.socket().shutdown(Shutdown::Write)
    }
}

impl Read for Channel {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.read(bytes),
            Self::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Clear(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Clear(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
