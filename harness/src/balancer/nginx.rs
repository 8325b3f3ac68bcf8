//! nginx's configuration.

use std::{fmt::Write as _, net::SocketAddr};

use super::{Backend, CONNECTIONS, Policy, system_program};
use crate::{process::Program, scratch::Scratch};

pub(super) const FILE: &str = "nginx.conf";

/// - HTTP/1.1 upstream and `proxy_buffering off`: otherwise a stream is held back until it ends.
/// - `proxy_next_upstream error`: another replica is tried where the connection fails; a POST that was sent is not.
/// - The read timeout outlasts every stream of a test.
const LOCATION: &str = r#"            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_cache off;
            proxy_next_upstream error;
            proxy_connect_timeout 1s;
            proxy_send_timeout 1h;
            proxy_read_timeout 1h;
"#;

pub(super) fn configuration(
    scratch: &Scratch,
    listen: SocketAddr,
    policy: &Policy,
    backends: &[Backend],
) -> String {
    let folder = scratch.path().display();
    // Root's nginx gives its workers to somebody who may not enter the folder.
    let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
    let mut servers = String::new();
    for Backend { address, .. } in backends {
        let _written = writeln!(servers, "        server {address} max_fails=1 fail_timeout=1s;");
    }
    // Both sides of a client's connection count.
    let connections = 2 * CONNECTIONS;
    let (map, balance) = balance(policy);
    format!(
        "{user}daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr warn;\n\
         events {{\n    worker_connections {connections};\n}}\n\
         http {{\n    access_log off;\n    client_max_body_size 0;\n    keepalive_timeout 1h;\n    \
         client_body_temp_path {folder}/nginx-body;\n    proxy_temp_path {folder}/nginx-proxy;\n    \
         fastcgi_temp_path {folder}/nginx-fastcgi;\n    uwsgi_temp_path {folder}/nginx-uwsgi;\n    \
         scgi_temp_path {folder}/nginx-scgi;\n    \
         {map}upstream replicas {{\n{balance}{servers}        keepalive 64;\n    }}\n    \
         server {{\n        listen {listen} backlog=4096;\n        location / {{\n{LOCATION}        }}\n    }}\n}}\n"
    )
}

/// What goes before the upstream and into it.
fn balance(policy: &Policy) -> (String, String) {
    match policy {
        Policy::RoundRobin => (String::new(), String::new()),
        Policy::LeastConnections => (String::new(), "        least_conn;\n".to_owned()),
        Policy::Sticky { header } => {
            let variable = format!("http_{}", header.to_ascii_lowercase().replace('-', "_"));
            // Without the header all would hash alike: those are spread by an id that each request has of its own.
            let map = format!(
                "map ${variable} $sticky {{\n        \"\" $request_id;\n        default ${variable};\n    }}\n    "
            );
            (map, "        hash $sticky consistent;\n".to_owned())
        }
    }
}

pub(super) fn program(scratch: &Scratch) -> Program {
    // Its own log file is elsewhere until it has read the configuration.
    system_program("nginx", "apt install nginx-light")
        .args(["-e", "stderr", "-c"])
        .args([scratch.path().join(FILE)])
}
