#!/bin/bash
# Ends a gateway without cutting a stream: run before SIGTERM, on which Envoy is gone at once.
#   drain.sh SETTLE SECONDS
# SETTLE: how long requests may still come, since not everybody has heard yet that this pod is going. SECONDS: how long to wait
# for those in flight. Needs bash alone, which is all that Envoy's image has.
set -u
settle=$1 patience=$2 admin_port=${ADMIN_PORT:-9901}

admin() { # METHOD PATH
  exec 3<>"/dev/tcp/127.0.0.1/$admin_port" || return
  printf '%s %s HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n' "$1" "$2" >&3
  cat <&3
  exec 3>&-
}

active() { # requests in flight in the gateway's listeners
  local sum= line # nothing, where this cannot be read: then all of the time is waited
  while read -r line; do
    line=${line%$'\r'}
    case $line in
    http.gateway.downstream_rq_active:\ *) sum=${line##*: } ;;
    esac
  done < <(admin GET '/stats?filter=^http.gateway.downstream_rq_active$')
  printf '%s' "$sum"
}

# Tells clients with each answer to come back on another connection, which is another pod by then. New connections are taken still.
admin POST /healthcheck/fail >/dev/null
sleep "$settle"
# No new ones from here on; those that are open go on.
admin POST '/drain_listeners?graceful&skip_exit' >/dev/null
end=$((SECONDS + patience))
while ((SECONDS < end)); do
  [[ $(active) == 0 ]] && exit 0
  sleep 1
done
