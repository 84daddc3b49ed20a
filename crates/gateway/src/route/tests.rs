mod scripted;
mod sockets;
