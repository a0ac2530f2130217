# Pegasus in NVIDIA's container of Isaac Sim: see docs/isaac_sim.md. Written from NVIDIA's own Dockerfile and start
# scripts of Isaac Sim 6.0.1 and 5.1.0; checked by reading only, never built.
ARG ISAAC_SIM_IMAGE
FROM ${ISAAC_SIM_IMAGE}

# The image's own user, who owns Isaac Sim.
COPY --chown=isaac-sim:isaac-sim . /isaac-sim/pegasus-source

# Not by python.sh, which ends where no GPU is, as in a build. Without a look at what they need: Isaac Sim has that.
RUN cd /isaac-sim/pegasus-source \
    && /isaac-sim/kit/python/bin/python3 -m pip install --no-cache-dir --no-deps . \
    && /isaac-sim/kit/python/bin/python3 -m pip install --no-cache-dir --no-deps \
       $(/isaac-sim/kit/python/bin/python3 -c "from pegasus.isaac.packages import own_packages as p; print(*p().values())")

ENV ISAACSIM_PATH=/isaac-sim
WORKDIR /isaac-sim

# As NVIDIA's start script: the licence first, which ACCEPT_EULA=Y accepts. The launcher takes the place of the shell, so
# that `docker stop` reaches it.
ENTRYPOINT ["/bin/bash", "-c", "/isaac-sim/license.sh && /isaac-sim/privacy.sh && exec /isaac-sim/kit/python/bin/python3 -m pegasus isaac \"$@\"", "pegasus"]
CMD ["first_flight", "--headless"]
